// Exports for services/video-worker: the catalog and the video makers.

export { PricedMembers } from './calls/priced-members.ts';
export { Catalog, loadCatalog, makerOf } from './catalog/catalog.ts';
export { catalogConfig, secretOf } from './catalog/catalog-config.ts';
export { SHIPPED_CATALOGS } from './catalog/shipped.ts';
export { parseExactly } from './json/exact-integers.ts';
export { redacted } from './makers/failure.ts';
export { ADAPTERS } from './makers/registry.ts';
export { createVideoMakers } from './makers/videos/registry.ts';
export {
  type TakenVideo,
  type VideoImage,
  type VideoJob,
  type VideoMaker,
  VideoNotTaken,
  type VideoProgress,
} from './makers/videos/video-maker.ts';
export { messageForCallers } from './makers/without-account.ts';
export { openProviderKeys } from './providers/provider-keys.ts';
