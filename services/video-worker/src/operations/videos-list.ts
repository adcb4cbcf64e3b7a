import {
  afterOf,
  limitOf,
  type OperationRequest,
  type OperationResponse,
  pageOf,
  type VideoRecord,
  type VideoView,
  videoKey,
} from '@switchyard/contracts';
import { showVideo } from '../show-video.ts';
import type { VideoOperations } from './video-operations.ts';

/** Lists the org's videos, newest first, by page. Ids sort by time, so a page reads no records beyond its own batch. */
export function listVideos({ videos, clock }: Pick<VideoOperations, 'videos' | 'clock'>) {
  return async ({
    org,
    query,
  }: OperationRequest<'videos.list'>): Promise<OperationResponse<'videos.list'>> => {
    const [after, limit] = [afterOf(query), limitOf(query)];
    const left = (await idsOf(videos, org)).filter((id) => after === undefined || id < after);
    const found: VideoRecord[] = [];
    // One beyond the page shows whether more follow.
    for (let from = 0; from < left.length && found.length <= limit; from += limit + 1) {
      const keys = left.slice(from, from + limit + 1).map((id) => videoKey(org, id));
      const entries = await videos.entriesOf(keys);
      for (const key of keys) {
        const record = entries.get(key)?.value;
        if (record && !record.deleted) found.push(record);
      }
    }
    const page = found.slice(0, limit).map((record) => showVideo(record, clock.now()));
    return pageOf(page, found.length > limit, idOf);
  };
}

function idOf({ id }: VideoView): string {
  return id;
}

/** Newest first. */
async function idsOf(videos: VideoOperations['videos'], org: string): Promise<string[]> {
  const ids = (await videos.keysWithDeleted(`${org}.>`)).map((key) => key.slice(org.length + 1));
  return ids.sort().reverse();
}
