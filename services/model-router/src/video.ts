// What services/video-worker shares with the router: the catalog, and the makers of videos.

export type { Failure } from './calls/failure.ts';
export { Catalog, CatalogError, loadCatalog, makerOf } from './catalog/catalog.ts';
export { SHIPPED_CATALOGS } from './catalog/shipped.ts';
export { createMakers } from './makers/registry.ts';
export { createVideoMakers, type VideoMakers } from './makers/videos/registry.ts';
export {
  type TakenVideo,
  type VideoImage,
  type VideoJob,
  type VideoMaker,
  VideoNotTaken,
  type VideoProgress,
} from './makers/videos/video-maker.ts';
