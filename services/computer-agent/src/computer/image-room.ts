// Removes unused images while the host's disk is nearly full.
import type { ForeignImages } from '../docker/foreign-images.ts';
import type { HostLogger } from './logger.ts';

interface ImageRoomDeps {
  readonly images: Pick<ForeignImages, 'removeUnused'>;
  /** Whether the host's disk has room for more. */
  readonly hasRoom: () => boolean;
  readonly everyMs: number;
  readonly logger: HostLogger;
}

/** Checks at intervals. @returns a function that ends this, and resolves when no removal is in progress */
export function keepImageRoom({ images, hasRoom, everyMs, logger }: ImageRoomDeps): () => Promise<void> {
  let removing: Promise<void> = Promise.resolve();
  const makeRoom = async () => {
    if (hasRoom()) return;
    const removed = await images.removeUnused();
    if (removed > 0) logger.info({ removed }, 'images were removed to make room on the disk');
  };
  const timer = setInterval(() => {
    removing = removing
      .then(makeRoom)
      .catch((error: unknown) => logger.warn({ err: error }, 'no room could be made on the disk'));
  }, everyMs).unref();
  return () => {
    clearInterval(timer);
    return removing;
  };
}
