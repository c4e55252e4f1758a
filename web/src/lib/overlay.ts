// What is drawn over the points: labels, marks, lines and the lasso.

import { type Camera, type Size, toScreenX, toScreenY } from "./camera";
import { Occupancy, placed, type Pyramid } from "./labels";
import { type Sprite, Sprites } from "./sprites";
import { shown } from "./text";
import type { Inks } from "./theme.svelte";

export type Role = "focus" | "true" | "false" | "term" | "result" | "from" | "to" | "path";

export interface Mark {
  id: number;
  role: Role;
  /** Beside the word, such as its cosine. */
  note?: string;
  /** Where it is on neither map: a place of its own. */
  at?: { x: number; y: number };
}

export interface Line {
  from: number;
  to: number;
  role: Role;
  arrow?: boolean;
}

export interface Scene {
  word: (id: number) => string;
  place: (id: number) => { x: number; y: number };
  pyramid: Pyramid | null;
  marks: readonly Mark[];
  lines: readonly Line[];
  lasso: readonly number[];
  /** The point in the middle, while the keyboard moves the map. */
  crosshair: boolean;
}

const HEIGHT = 18;
const MOST_LABELS = 220;
const NEW_SPRITES = 14;

export class Overlay {
  private readonly plain: Sprites;
  private readonly strong: Sprites;
  /** Words that were written in the last frame, and whether some had to wait for the next. */
  written = 0;
  waiting = false;

  constructor(
    private inks: Inks,
    private ratio: number,
    private readonly family: string,
  ) {
    this.plain = new Sprites(this.style(false), ratio);
    this.strong = new Sprites(this.style(true), ratio);
  }

  restyle(inks: Inks, ratio: number): void {
    this.inks = inks;
    this.ratio = ratio;
    this.plain.restyle(this.style(false), ratio);
    this.strong.restyle(this.style(true), ratio);
  }

  draw(context: CanvasRenderingContext2D, camera: Camera, size: Size, scene: Scene): void {
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, size.width, size.height);
    this.plain.budget = NEW_SPRITES;
    this.strong.budget = 60;
    this.waiting = false;
    const at = (id: number) => {
      const { x, y } = scene.place(id);
      return { x: toScreenX(camera, size, x), y: toScreenY(camera, size, y) };
    };
    this.drawLines(context, scene.lines, at);
    const taken = new Occupancy();
    const marked = scene.marks.map((mark) => ({ mark, ...(mark.at ? screen(mark.at, camera, size) : at(mark.id)) }));
    for (const each of marked) this.drawMark(context, each.mark, each.x, each.y, taken);
    this.writeMarks(context, marked, size, scene, taken);
    this.writeWords(context, camera, size, scene, at, taken);
    if (scene.lasso.length > 3) this.drawLasso(context, scene.lasso, camera, size);
    if (scene.crosshair) this.drawCrosshair(context, size);
  }

  private style(strong: boolean) {
    const weight = strong ? 600 : 400;
    return {
      ink: this.inks.ink,
      halo: this.inks.paper,
      font: `${weight} ${strong ? 13.5 : 12.5}px ${this.family}`,
      height: HEIGHT + (strong ? 2 : 0),
    };
  }

  private writeMarks(
    context: CanvasRenderingContext2D,
    marked: readonly { mark: Mark; x: number; y: number }[],
    size: Size,
    scene: Scene,
    taken: Occupancy,
  ): void {
    const sprites = new Map<number, Sprite>();
    const texts = marked.map(({ mark }) => {
      const note = mark.note ? `  ${mark.note}` : "";
      return `${shown(scene.word(mark.id), 24)}${note}`;
    });
    marked.forEach((_, at) => {
      const sprite = this.strong.of(texts[at]);
      if (sprite) sprites.set(at, sprite);
      else this.waiting = true;
    });
    const labels = placed([...sprites.keys()], size, {
      places: (at) => marked[at],
      width: (at) => sprites.get(at)?.width ?? 0,
      height: HEIGHT,
      gap: 10,
      most: 80,
      marked: true,
    }, taken);
    for (const label of labels) this.strong.draw(context, sprites.get(label.id) as Sprite, label.x, label.y);
    this.written = labels.length;
  }

  private writeWords(
    context: CanvasRenderingContext2D,
    camera: Camera,
    size: Size,
    scene: Scene,
    at: (id: number) => { x: number; y: number },
    taken: Occupancy,
  ): void {
    if (!scene.pyramid) return;
    const known = new Set(scene.marks.map((mark) => mark.id));
    const sprites = new Map<number, Sprite>();
    for (const id of scene.pyramid.candidates(camera, size)) {
      if (known.has(id)) continue;
      const sprite = this.plain.of(shown(scene.word(id), 24));
      if (sprite) sprites.set(id, sprite);
      else this.waiting = true;
    }
    const most = scene.marks.length > 1 ? 40 : MOST_LABELS;
    const labels = placed([...sprites.keys()], size, {
      places: at,
      width: (id) => sprites.get(id)?.width ?? 0,
      height: HEIGHT,
      gap: 6,
      most,
    }, taken);
    context.globalAlpha = scene.marks.length > 1 ? 0.5 : 1;
    for (const label of labels) this.plain.draw(context, sprites.get(label.id) as Sprite, label.x, label.y);
    context.globalAlpha = 1;
    this.written += labels.length;
  }

  private drawMark(context: CanvasRenderingContext2D, mark: Mark, x: number, y: number, taken: Occupancy): void {
    const { accent, false: wrong, ink, paper } = this.inks;
    const radius = mark.role === "focus" || mark.role === "result" ? 6.5 : 4.5;
    taken.take({ left: x - radius, right: x + radius, top: y - radius, bottom: y + radius });
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.lineWidth = 2;
    context.setLineDash(mark.role === "false" ? [2.5, 2.5] : []);
    context.fillStyle = { focus: ink, result: accent, false: paper, from: wrong }[mark.role as string] ?? accent;
    if (mark.role === "term" || mark.role === "path") context.fillStyle = paper;
    context.strokeStyle = mark.role === "false" ? wrong : mark.role === "term" || mark.role === "path" ? accent : paper;
    context.fill();
    context.stroke();
    context.setLineDash([]);
  }

  private drawLines(
    context: CanvasRenderingContext2D,
    lines: readonly Line[],
    at: (id: number) => { x: number; y: number },
  ): void {
    context.lineWidth = lines.length > 60 ? 1 : 1.5;
    for (const line of lines) {
      const from = at(line.from);
      const to = at(line.to);
      if (!Number.isFinite(from.x + to.x)) continue;
      context.globalAlpha = lines.length > 60 ? 0.3 : 0.65;
      context.strokeStyle = line.role === "false" ? this.inks.false : this.inks.accent;
      context.beginPath();
      context.moveTo(from.x, from.y);
      context.lineTo(to.x, to.y);
      context.stroke();
      if (line.arrow) arrowHead(context, from, to);
    }
    context.globalAlpha = 1;
  }

  private drawLasso(context: CanvasRenderingContext2D, lasso: readonly number[], camera: Camera, size: Size): void {
    context.beginPath();
    for (let at = 0; at < lasso.length; at += 2)
      context.lineTo(toScreenX(camera, size, lasso[at]), toScreenY(camera, size, lasso[at + 1]));
    context.closePath();
    context.strokeStyle = this.inks.accent;
    context.fillStyle = this.inks.accent;
    context.globalAlpha = 0.1;
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.setLineDash([5, 4]);
    context.stroke();
    context.setLineDash([]);
  }

  private drawCrosshair(context: CanvasRenderingContext2D, size: Size): void {
    const x = size.width / 2;
    const y = size.height / 2;
    context.strokeStyle = this.inks.ink;
    context.lineWidth = 1.5;
    context.beginPath();
    for (const [dx, dy] of [[1, 0], [-1, 0], [0, 1], [0, -1]]) {
      context.moveTo(x + 6 * dx, y + 6 * dy);
      context.lineTo(x + 14 * dx, y + 14 * dy);
    }
    context.stroke();
  }
}

function screen(at: { x: number; y: number }, camera: Camera, size: Size): { x: number; y: number } {
  return { x: toScreenX(camera, size, at.x), y: toScreenY(camera, size, at.y) };
}

function arrowHead(
  context: CanvasRenderingContext2D,
  from: { x: number; y: number },
  to: { x: number; y: number },
): void {
  const angle = Math.atan2(to.y - from.y, to.x - from.x);
  const x = to.x - 8 * Math.cos(angle);
  const y = to.y - 8 * Math.sin(angle);
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - 9 * Math.cos(angle - 0.4), y - 9 * Math.sin(angle - 0.4));
  context.lineTo(x - 9 * Math.cos(angle + 0.4), y - 9 * Math.sin(angle + 0.4));
  context.closePath();
  context.fillStyle = context.strokeStyle;
  context.fill();
}
