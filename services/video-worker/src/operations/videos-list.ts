import {
  afterOf,
  ID_PATTERN,
  limitOf,
  type OperationRequest,
  type OperationResponse,
  pageOf,
  type VideoView,
  videoKey,
} from '@switchyard/contracts';
import { showVideo } from '../show-video.ts';
import type { VideoOperations } from './video-operations.ts';

/** Lists the org's videos, newest first, by page. Ids sort by time, so a page needs no other records. */
export function listVideos({ videos, clock }: VideoOperations) {
  return async ({
    org,
    query,
  }: OperationRequest<'videos.list'>): Promise<OperationResponse<'videos.list'>> => {
    const [after, limit] = [afterOf(query), limitOf(query)];
    const data: VideoView[] = [];
    for (const id of await idsOf(videos, org)) {
      if (after !== undefined && id >= after) continue;
      const record = (await videos.get(videoKey(org, id)))?.value;
      if (!record || record.deleted) continue;
      if (data.length === limit) return pageOf(data, true, idOf);
      data.push(showVideo(record, clock.now()));
    }
    return pageOf(data, false, idOf);
  };
}

function idOf({ id }: VideoView): string {
  return id;
}

/** Newest first. */
async function idsOf(videos: VideoOperations['videos'], org: string): Promise<string[]> {
  if (!ID_PATTERN.test(org)) return [];
  const ids = (await videos.keys(`${org}.>`)).map((key) => key.slice(org.length + 1));
  return ids.sort().reverse();
}
