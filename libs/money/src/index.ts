// Exact dollars: rates are decimal strings, sums are BigInt nano-dollars, nothing between them is a float.
export { type ChargeLine, charge } from './charge.ts';
export { markUp } from './mark-up.ts';
export { dollarsToJson, formatDollars, parseDollars } from './nano-dollars.ts';
