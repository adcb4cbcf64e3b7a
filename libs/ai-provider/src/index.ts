/** Switchyard for Vercel's AI SDK: its eight kinds of model, each answer with its cost. */
export { createSwitchyard, type SwitchyardProvider, type SwitchyardSettings } from './switchyard-provider.ts';
