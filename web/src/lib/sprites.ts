// Words drawn once each, so that writing hundreds of them costs a frame little: a frame only copies pictures.

const MOST = 3000;
const PADDING = 3;

export interface Sprite {
  picture: HTMLCanvasElement;
  /** CSS pixels of the text. */
  width: number;
}

export interface Style {
  ink: string;
  halo: string;
  font: string;
  height: number;
}

export class Sprites {
  private readonly held = new Map<string, Sprite>();
  private readonly measuring = document.createElement("canvas").getContext("2d");
  /** How many may still be drawn in this frame. */
  budget = 0;

  constructor(
    private style: Style,
    private ratio: number,
  ) {}

  restyle(style: Style, ratio: number): void {
    if (JSON.stringify(style) === JSON.stringify(this.style) && ratio === this.ratio) return;
    this.style = style;
    this.ratio = ratio;
    this.held.clear();
  }

  /** The picture of a text; null where this frame has drawn enough new ones. */
  of(text: string): Sprite | null {
    const found = this.held.get(text);
    if (found) return found;
    if (this.budget <= 0 || !this.measuring) return null;
    this.budget--;
    const made = this.drawn(text, this.measuring);
    if (this.held.size >= MOST) this.held.delete(this.held.keys().next().value as string);
    this.held.set(text, made);
    return made;
  }

  private drawn(text: string, measuring: CanvasRenderingContext2D): Sprite {
    const { ink, halo, font, height } = this.style;
    measuring.font = font;
    const width = Math.ceil(measuring.measureText(text).width);
    const picture = document.createElement("canvas");
    picture.width = Math.ceil((width + 2 * PADDING) * this.ratio);
    picture.height = Math.ceil(height * this.ratio);
    const context = picture.getContext("2d");
    if (context) {
      context.scale(this.ratio, this.ratio);
      context.font = font;
      context.textBaseline = "middle";
      context.lineJoin = "round";
      context.lineWidth = 3;
      context.strokeStyle = halo;
      context.globalAlpha = 0.9;
      context.strokeText(text, PADDING, height / 2);
      context.globalAlpha = 1;
      context.fillStyle = ink;
      context.fillText(text, PADDING, height / 2);
    }
    return { picture, width };
  }

  draw(context: CanvasRenderingContext2D, sprite: Sprite, x: number, y: number): void {
    const { height } = this.style;
    const width = sprite.picture.width / this.ratio;
    context.drawImage(sprite.picture, Math.round(x) - PADDING, Math.round(y - height / 2), width, height);
  }
}
