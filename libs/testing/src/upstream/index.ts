// The test upstream: `startUpstream()` serves, `writeTestCatalog()` points models to it.
export { type Behaviour, behaviourOf } from './behaviours.ts';
export {
  type CatalogEntry,
  chatModel,
  type TestCatalogOptions,
  testModels,
  writeTestCatalog,
} from './catalog.ts';
export { FIXTURES } from './fixtures.ts';
export {
  startUpstream,
  type Upstream,
  type UpstreamHandler,
  type UpstreamOptions,
  type UpstreamRequest,
} from './start-upstream.ts';
