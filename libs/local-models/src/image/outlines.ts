// Outlines: whether a point of the square from -1 to 1 (y downwards) is inside a shape.

export type Outline = (u: number, v: number) => boolean;

export const circle: Outline = (u, v) => u * u + v * v <= 1;
export const square: Outline = (u, v) => Math.abs(u) <= 0.88 && Math.abs(v) <= 0.88;
export const rectangle: Outline = (u, v) => Math.abs(u) <= 1 && Math.abs(v) <= 0.6;
export const triangle: Outline = (u, v) => v <= 0.9 && v >= -0.9 && Math.abs(u) <= (v + 0.9) / 1.8;
export const diamond: Outline = (u, v) => Math.abs(u) + Math.abs(v) <= 1;
export const ellipse: Outline = (u, v) => u * u + (v / 0.6) ** 2 <= 1;
export const ring: Outline = (u, v) => circle(u, v) && u * u + v * v >= 0.36;
export const cross: Outline = (u, v) =>
  Math.max(Math.abs(u), Math.abs(v)) <= 0.95 && Math.min(Math.abs(u), Math.abs(v)) <= 0.3;
export const hexagon: Outline = (u, v) => Math.abs(v) <= 0.866 && Math.abs(v) <= 1.732 * (1 - Math.abs(u));
export const heart: Outline = (u, v) => {
  const [x, y] = [u * 1.2, 0.15 - v * 1.2];
  return (x * x + y * y - 1) ** 3 - x * x * y ** 3 <= 0;
};
export const moon: Outline = (u, v) => circle(u, v) && (u - 0.45) ** 2 + (v + 0.1) ** 2 > 0.8;
export const star: Outline = (u, v) => Math.hypot(u, v) <= spikes(u, v, 5, 0.4);
export const sun: Outline = (u, v) => Math.hypot(u, v) <= 0.62 || Math.hypot(u, v) <= spikes(u, v, 12, 0.6);
export const cloud: Outline = (u, v) =>
  within(u, v, -0.5, 0.15, 0.42) ||
  within(u, v, 0.02, -0.15, 0.52) ||
  within(u, v, 0.52, 0.12, 0.44) ||
  (Math.abs(u) <= 0.6 && v >= 0.1 && v <= 0.55);
export const mountain: Outline = (u, v) => v <= 1 && Math.abs(u) <= (v + 1) / 2 + 0.03 * Math.sin(9 * v);
export const snowCap: Outline = (u, v) => mountain(u, v) && v <= -0.5 + 0.08 * Math.sin(14 * u);
export const wall: Outline = (u, v) => Math.abs(u) <= 0.75 && v >= -0.1 && v <= 1;
export const roof: Outline = (u, v) => v >= -0.95 && v <= -0.1 && Math.abs(u) <= (v + 0.95) / 0.85;
export const door: Outline = (u, v) => Math.abs(u) <= 0.17 && v >= 0.4 && v <= 1;
export const windows: Outline = (u, v) => Math.abs(Math.abs(u) - 0.45) <= 0.15 && v >= 0.1 && v <= 0.4;
export const trunk: Outline = (u, v) => Math.abs(u) <= 0.14 && v >= 0.2 && v <= 1;
export const crown: Outline = (u, v) =>
  within(u, v, 0, -0.4, 0.58) || within(u, v, -0.38, -0.02, 0.4) || within(u, v, 0.38, -0.02, 0.4);
export const hull: Outline = (u, v) => v >= 0.4 && v <= 0.9 && Math.abs(u) <= 0.95 - (v - 0.4) * 0.7;
export const sail: Outline = (u, v) => v >= -1 && v <= 0.32 && u >= 0 && u <= (v + 1) * 0.6;
export const stem: Outline = (u, v) => Math.abs(u) <= 0.06 && v >= 0 && v <= 1;
export const petals: Outline = (u, v) => {
  const angle = Math.atan2(v + 0.35, u);
  return Math.hypot(u, v + 0.35) <= 0.38 + 0.22 * Math.cos(6 * angle);
};
export const pistil: Outline = (u, v) => within(u, v, 0, -0.35, 0.2);
/** A surface with waves along its upper edge. */
export const waves: Outline = (u, v) => v >= -0.95 + 0.05 * Math.sin(u * 22);
/** A wide, gentle hill. */
export const hill: Outline = (u, v) => v >= -0.6 - 0.35 * Math.cos(u * 2.2);

function within(u: number, v: number, x: number, y: number, radius: number): boolean {
  return (u - x) ** 2 + (v - y) ** 2 <= radius * radius;
}

/** The radius, in this direction, of a star with its first spike upwards. */
function spikes(u: number, v: number, count: number, inner: number): number {
  const step = (2 * Math.PI) / count;
  const turned = (((Math.atan2(u, -v) % step) + step) % step) / step;
  const towardsSpike = Math.abs(turned - 0.5) * 2; // 1 at a spike, 0 between two
  const half = step / 2;
  // The straight edge between the spike (radius 1, angle 0) and the notch (radius `inner`, angle `half`).
  const angle = (1 - towardsSpike) * half;
  return (inner * Math.sin(half)) / (Math.sin(angle) + inner * Math.sin(half - angle));
}
