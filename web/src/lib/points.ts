// Points on a canvas: WebGL2, one draw call a frame and nothing uploaded for it; or Canvas 2D where there is no
// WebGL2, so that no one looks at an empty page.

import type { Camera, Size } from "./camera";

export interface Frame {
  camera: Camera;
  size: Size;
  /** Device pixels for one CSS pixel. */
  ratio: number;
  /** Radius of a point in CSS pixels. */
  radius: number;
  /** 0: the first places; 1: the second ones. */
  morph: number;
  /** How visible the points are that are not lit, from 0 to 1. */
  dim: number;
}

export interface PointLayer {
  readonly kind: "webgl2" | "canvas2d";
  /** x, y of each point; a second pair for morphing. Places that are NaN are not drawn. */
  setPlaces(first: Float32Array, second?: Float32Array): void;
  /** r, g, b of each point, and whether it is lit (255) or not (0). */
  setColors(colors: Uint8Array): void;
  draw(frame: Frame): void;
  dispose(): void;
}

export function pointLayer(canvas: HTMLCanvasElement, only2d = false): PointLayer {
  const gl = only2d
    ? null
    : canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true, preserveDrawingBuffer: true });
  return gl ? new GlPoints(gl) : new FlatPoints(canvas);
}

const VERTEX = `#version 300 es
layout(location = 0) in vec2 first;
layout(location = 1) in vec2 second;
layout(location = 2) in vec4 color;
uniform vec2 center;
uniform vec2 scale;
uniform float morph;
uniform float size;
uniform float dim;
out vec4 shade;
void main() {
  vec2 place = mix(first, second, morph);
  bool hidden = any(isnan(place));
  gl_Position = hidden ? vec4(2.0, 2.0, 2.0, 1.0) : vec4((place - center) * scale, 0.0, 1.0);
  gl_PointSize = size;
  shade = vec4(color.rgb, mix(dim, 1.0, color.a));
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 shade;
uniform float softness;
out vec4 pixel;
void main() {
  float radius = length(gl_PointCoord * 2.0 - 1.0);
  float alpha = shade.a * (1.0 - smoothstep(1.0 - softness, 1.0, radius)) * 0.86;
  if (alpha <= 0.0) discard;
  pixel = vec4(shade.rgb * alpha, alpha);
}`;

class GlPoints implements PointLayer {
  readonly kind = "webgl2";
  private readonly program: WebGLProgram;
  private readonly buffers: WebGLBuffer[];
  private readonly uniforms: Record<string, WebGLUniformLocation | null> = {};
  private count = 0;

  constructor(private readonly gl: WebGL2RenderingContext) {
    this.program = linked(gl);
    for (const name of ["center", "scale", "morph", "size", "dim", "softness"])
      this.uniforms[name] = gl.getUniformLocation(this.program, name);
    this.buffers = [0, 1, 2].map((location) => {
      const buffer = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
      gl.enableVertexAttribArray(location);
      if (location < 2) gl.vertexAttribPointer(location, 2, gl.FLOAT, false, 0, 0);
      else gl.vertexAttribPointer(location, 4, gl.UNSIGNED_BYTE, true, 0, 0);
      return buffer;
    });
    gl.useProgram(this.program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.clearColor(0, 0, 0, 0);
  }

  setPlaces(first: Float32Array, second: Float32Array = first): void {
    this.count = first.length / 2;
    this.upload(0, first);
    this.upload(1, second);
  }

  setColors(colors: Uint8Array): void {
    this.upload(2, colors);
  }

  draw({ camera, size, ratio, radius, morph, dim }: Frame): void {
    const gl = this.gl;
    const diameter = Math.max(2 * radius * ratio, 1);
    gl.viewport(0, 0, size.width * ratio, size.height * ratio);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(this.uniforms.center, camera.x, camera.y);
    gl.uniform2f(this.uniforms.scale, (2 * camera.scale) / size.width, (2 * camera.scale) / size.height);
    gl.uniform1f(this.uniforms.morph, morph);
    gl.uniform1f(this.uniforms.size, diameter);
    gl.uniform1f(this.uniforms.dim, dim);
    gl.uniform1f(this.uniforms.softness, Math.min(2.5 / diameter, 1));
    gl.drawArrays(gl.POINTS, 0, this.count);
  }

  dispose(): void {
    for (const buffer of this.buffers) this.gl.deleteBuffer(buffer);
    this.gl.deleteProgram(this.program);
  }

  private upload(location: number, data: Float32Array | Uint8Array): void {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[location]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, data as Float32Array<ArrayBuffer>, this.gl.STATIC_DRAW);
  }
}

function linked(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [kind, source] of [
    [gl.VERTEX_SHADER, VERTEX],
    [gl.FRAGMENT_SHADER, FRAGMENT],
  ] as const) {
    const shader = gl.createShader(kind);
    if (!shader) throw new Error("WebGL2: no shader could be made.");
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS))
    throw new Error(`WebGL2: ${gl.getProgramInfoLog(program) ?? "the program does not link"}`);
  return program;
}

const MOST_FLAT = 20_000;

/** Canvas 2D: squares, and of many points the most frequent ones. */
class FlatPoints implements PointLayer {
  readonly kind = "canvas2d";
  private first = new Float32Array();
  private second = new Float32Array();
  private colors = new Uint8Array();
  private readonly context: CanvasRenderingContext2D | null;

  constructor(canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d");
  }

  setPlaces(first: Float32Array, second: Float32Array = first): void {
    this.first = first as Float32Array<ArrayBuffer>;
    this.second = second as Float32Array<ArrayBuffer>;
  }

  setColors(colors: Uint8Array): void {
    this.colors = colors as Uint8Array<ArrayBuffer>;
  }

  draw({ camera, size, ratio, radius, morph, dim }: Frame): void {
    const context = this.context;
    if (!context) return;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    const side = Math.max(2 * radius, 1);
    for (let id = Math.min(this.first.length / 2, MOST_FLAT) - 1; id >= 0; id--) {
      const planeX = this.first[2 * id] * (1 - morph) + this.second[2 * id] * morph;
      const planeY = this.first[2 * id + 1] * (1 - morph) + this.second[2 * id + 1] * morph;
      const x = (planeX - camera.x) * camera.scale + size.width / 2;
      const y = size.height / 2 - (planeY - camera.y) * camera.scale;
      if (!(x >= 0 && y >= 0 && x <= size.width && y <= size.height)) continue;
      context.globalAlpha = 0.86 * (this.colors[4 * id + 3] ? 1 : dim);
      context.fillStyle = `rgb(${this.colors[4 * id]} ${this.colors[4 * id + 1]} ${this.colors[4 * id + 2]})`;
      context.fillRect(x - radius, y - radius, side, side);
    }
    context.globalAlpha = 1;
  }

  dispose(): void {}
}

/** The radius of points in CSS pixels: smaller where there are many, larger when one looks closely. */
export function radiusOf(count: number, camera: Camera): number {
  const base = Math.min(4.2, Math.max(1.35, 34 / Math.sqrt(Math.max(count, 1) ** 0.72)));
  return Math.min(base * (camera.scale / 300) ** 0.3, 7);
}
