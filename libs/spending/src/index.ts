// Spending within limits, for every service that charges: what may be spent is held with billing before it is.
export { CallHold, HoldKeeper } from './hold-keeper.ts';
export { estimateInputTokens, estimateJsonTokens, estimateTokens } from './input-tokens.ts';
