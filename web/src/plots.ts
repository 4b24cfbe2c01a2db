// Figures as paths of an SVG; numbers go in, coordinates come out.

export interface Point {
  x: number;
  y: number;
}

/** Values as points in a box, the first at its left edge; `most` is what touches the top. */
export function points(values: number[], width: number, height: number, most = Math.max(...values)): Point[] {
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  const scale = most > 0 ? height / most : 0;
  return values.map((value, at) => ({ x: round(at * step), y: round(height - value * scale) }));
}

export function line(path: Point[]): string {
  return path.map((point, at) => `${at ? "L" : "M"}${point.x} ${point.y}`).join("");
}

export function area(path: Point[], height: number): string {
  if (!path.length) return "";
  return `${line(path)}L${path.at(-1)!.x} ${height}L${path[0]!.x} ${height}Z`;
}

/** A round number at or above a value, to label an axis with. */
export function ceiling(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  for (const step of [1, 2, 2.5, 5, 10]) if (value <= step * power) return step * power;
  return 10 * power;
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
