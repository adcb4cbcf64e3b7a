/** The TypeScript client of Switchyard: the whole API with types, and computers as objects. */
export {
  Computer,
  type ExecEvent,
  type ExecOptions,
  type ExecResult,
  type PortLink,
} from './computer.ts';
export type { ComputerFiles, FileContent, FolderEntry, WrittenFile } from './computer-files.ts';
export {
  type ComputerInfo,
  Computers,
  type CreateComputerOptions,
  type CreationProgress,
} from './computers.ts';
export { dataOf, SwitchyardError } from './errors.ts';
export type { components, paths } from './openapi.ts';
export { serverEvents } from './server-events.ts';
export { Switchyard, type SwitchyardOptions } from './switchyard.ts';
export { Terminal, type TerminalOptions, type TerminalSize } from './terminal.ts';
