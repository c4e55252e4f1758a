// The part of the plane that is seen. The plane is [-1, 1] in both directions, y upwards.

export interface Camera {
  x: number;
  y: number;
  /** Pixels for one unit of the plane. */
  scale: number;
}

export interface Size {
  width: number;
  height: number;
}

/** The camera of a link; null where it names none. */
export function cameraOf(text: string): Camera | null {
  const [x, y, scale] = text.split(",").map(Number);
  return scale > 0 && Number.isFinite(x + y + scale) ? { x, y, scale } : null;
}

export function written(at: Camera): string {
  return [at.x.toFixed(4), at.y.toFixed(4), at.scale.toFixed(1)].join(",");
}

export const LARGEST_SCALE = 5e6;
export const SMALLEST_SCALE = 40;

export function fitted(size: Size, margin = 48): Camera {
  const room = Math.max(Math.min(size.width, size.height) - 2 * margin, 40);
  return { x: 0, y: 0, scale: room / 2 };
}

export function toScreenX(camera: Camera, size: Size, x: number): number {
  return (x - camera.x) * camera.scale + size.width / 2;
}

export function toScreenY(camera: Camera, size: Size, y: number): number {
  return size.height / 2 - (y - camera.y) * camera.scale;
}

export function toPlaneX(camera: Camera, size: Size, x: number): number {
  return (x - size.width / 2) / camera.scale + camera.x;
}

export function toPlaneY(camera: Camera, size: Size, y: number): number {
  return (size.height / 2 - y) / camera.scale + camera.y;
}

/** The point under the pointer stays under it. */
export function zoomedAt(camera: Camera, size: Size, x: number, y: number, factor: number): Camera {
  const scale = Math.min(Math.max(camera.scale * factor, SMALLEST_SCALE), LARGEST_SCALE);
  const planeX = toPlaneX(camera, size, x);
  const planeY = toPlaneY(camera, size, y);
  return {
    x: planeX - (x - size.width / 2) / scale,
    y: planeY - (size.height / 2 - y) / scale,
    scale,
  };
}

export function moved(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x - dx / camera.scale, y: camera.y + dy / camera.scale };
}

/** The camera that shows all of some points, not nearer than `nearest`. */
export function around(places: Float32Array, ids: readonly number[], size: Size, nearest = 4000): Camera {
  let left = Infinity;
  let right = -Infinity;
  let low = Infinity;
  let high = -Infinity;
  for (const id of ids) {
    const x = places[2 * id];
    const y = places[2 * id + 1];
    if (!Number.isFinite(x) || !Number.isFinite(y)) continue;
    left = Math.min(left, x);
    right = Math.max(right, x);
    low = Math.min(low, y);
    high = Math.max(high, y);
  }
  if (left === Infinity) return fitted(size);
  const wide = (size.width * 0.6) / Math.max(right - left, 1e-9);
  const tall = (size.height * 0.6) / Math.max(high - low, 1e-9);
  const scale = Math.max(Math.min(wide, tall, nearest), SMALLEST_SCALE);
  return { x: (left + right) / 2, y: (low + high) / 2, scale };
}

/** Between two cameras, `share` from 0 to 1: zoom is interpolated by ratio, so that it looks even. */
export function between(from: Camera, to: Camera, share: number): Camera {
  const scale = from.scale * (to.scale / from.scale) ** share;
  const straight = Math.abs(to.scale - from.scale) < 1e-6 * from.scale;
  const part = straight ? share : (1 / from.scale - 1 / scale) / (1 / from.scale - 1 / to.scale);
  return { x: from.x + (to.x - from.x) * part, y: from.y + (to.y - from.y) * part, scale };
}
