/** Shared by tests: real servers of their own. */
export { docker } from './docker.ts';
export { type EventLog, openEventLog } from './event-log.ts';
export { FakeClock } from './fake-clock.ts';
export { onFullDisk } from './full-disk.ts';
export { isFree } from './is-free.ts';
export { killedWithParent } from './killed-with-parent.ts';
export { mongo, startMongo } from './mongo.ts';
export { startNats } from './nats.ts';
export { ownPort } from './own-port.ts';
export { type RegistryFault, startRegistry, type TestRegistry } from './registry.ts';
export { EXIT_CONFIG, runServiceToEnd } from './run-service-to-end.ts';
export { importSmallImage } from './small-image.ts';
export { startStack, type TestStack } from './stack.ts';
export { canStartTestEngine, startTestEngine, type TestEngine } from './test-engine.ts';
export { type TestServer, temporaryFolder } from './test-server.ts';
export { untilMidnightIsFar } from './until-midnight-is-far.ts';
export {
  type CatalogEntry,
  chatModel,
  FIXTURES,
  startUpstream,
  testModels,
  type Upstream,
  type UpstreamHandler,
  type UpstreamRequest,
  writeTestCatalog,
} from './upstream/index.ts';
