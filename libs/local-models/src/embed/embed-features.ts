// Signed feature hashing: weighted features -> a vector of any length and of norm 1.
import { crc32 } from 'node:zlib';

/** Deterministic, on every machine: the same features give the same vector. */
export function embedFeatures(features: ReadonlyMap<string, number>, dimensions: number): Float32Array {
  const sums = new Float64Array(dimensions);
  for (const [feature, weight] of features) {
    // The low bits give the index, the highest the sign.
    const hash = crc32(feature);
    const index = (hash & 0x7fffffff) % dimensions;
    const sign = hash > 0x7fffffff ? 1 : -1;
    sums[index] = (sums[index] ?? 0) + sign * weight;
  }
  return normalised(sums);
}

function normalised(sums: Float64Array): Float32Array {
  const norm = Math.hypot(...sums);
  const vector = new Float32Array(sums.length);
  // Features that cancel each other out to nothing still get a direction, as a cosine needs one.
  if (norm === 0) vector[0] = 1;
  else for (const [index, sum] of sums.entries()) vector[index] = sum / norm;
  return vector;
}
