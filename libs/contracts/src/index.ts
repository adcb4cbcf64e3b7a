// Every shape that crosses a process boundary, once, in zod.
export * from './catalog.ts';
export * from './computer-limits.ts';
export * from './computer-minute.ts';
export * from './computer-object.ts';
export * from './computers.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './ids.ts';
export * from './keys.ts';
export * from './lists.ts';
export * from './model-calls.ts';
export * from './model-types.ts';
export * from './operations.ts';
export * from './permissions.ts';
export * from './usage.ts';
