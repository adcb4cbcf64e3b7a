// The test upstream: `startUpstream()` serves, `writeTestCatalog()` points models to it.
export {
  type CatalogEntry,
  chatModel,
  testModels,
  writeTestCatalog,
} from './catalog.ts';
export { FIXTURES } from './fixtures.ts';
export {
  startUpstream,
  type Upstream,
  type UpstreamHandler,
  type UpstreamRequest,
} from './start-upstream.ts';
