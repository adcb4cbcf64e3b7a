// Spending within limits, for every service that charges: money is held with billing before it is spent.
export { CallHold, HoldKeeper } from './hold-keeper.ts';
export { estimateInputTokens, estimateJsonTokens, estimateTokens } from './input-tokens.ts';
