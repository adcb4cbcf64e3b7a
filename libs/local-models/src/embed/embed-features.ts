// Signed feature hashing: weighted features -> a vector of any length and of norm 1.
import { murmur3 } from './feature-hash.ts';

// Two hashes, so that the sign of a feature says nothing about its place.
const INDEX_SEED = 0x5397a4d1;
const SIGN_SEED = 0x1b56c4e9;

const encoder = new TextEncoder();

/** Deterministic, on every machine: the same features give the same vector. */
export function embedFeatures(features: ReadonlyMap<string, number>, dimensions: number): Float32Array {
  const sums = new Float64Array(dimensions);
  for (const [feature, weight] of features) {
    const bytes = encoder.encode(feature);
    const index = murmur3(bytes, INDEX_SEED) % dimensions;
    const sign = murmur3(bytes, SIGN_SEED) & 1 ? 1 : -1;
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
