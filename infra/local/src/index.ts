/** The parts of the local stack that tests and other tools use. */
export { addressesFile } from './addresses.ts';
export { ROOT } from './config.ts';
export { ensureConsole } from './console-build.ts';
export { createDebianPackages, type DebianPackages } from './debian-packages.ts';
export { type DockerCompose, presentDockerCompose } from './docker-compose.ts';
export { engineVersion } from './docker-engine.ts';
export { freePort } from './free-port.ts';
export { READY_LINE } from './launcher.ts';
export { findMongoServer, MONGO_HOST, MONGO_IMAGE, mongoServerProcess } from './mongo-server.ts';
export { ensureStandIn, standInCommand } from './mongo-stand-in.ts';
export { ensureBuiltNatsServer, findNatsServer, NATS_IMAGE, natsServerProcess } from './nats-server.ts';
export { createPidFiles } from './pid-files.ts';
export { processIdentity } from './process-identity.ts';
export { openProcessLog } from './process-log.ts';
export { findProgram, runCommand } from './run-command.ts';
export { type ProcessSpec, type Supervised, supervise } from './supervisor.ts';
export { makeOnce, toolsCacheFolder } from './tools-cache.ts';
