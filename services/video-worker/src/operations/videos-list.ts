import {
  ID_PATTERN,
  type OperationRequest,
  type OperationResponse,
  type VideoView,
  videoKey,
} from '@switchyard/contracts';
import { showVideo } from '../show-video.ts';
import type { VideoOperations } from './video-operations.ts';

/** Lists the org's videos, newest first, by page. Ids sort by time, so a page needs no other records. */
export function listVideos({ videos, clock }: VideoOperations) {
  return async ({
    org,
    query: { limit, cursor },
  }: OperationRequest<'videos.list'>): Promise<OperationResponse<'videos.list'>> => {
    const data: VideoView[] = [];
    for (const id of await idsOf(videos, org)) {
      if (cursor !== undefined && id >= cursor) continue;
      const record = (await videos.get(videoKey(org, id)))?.value;
      if (!record || record.deleted) continue;
      if (data.length === limit)
        return { object: 'list', data, has_more: true, next_cursor: data.at(-1)?.id ?? null };
      data.push(showVideo(record, clock.now()));
    }
    return { object: 'list', data, has_more: false, next_cursor: null };
  };
}

/** Newest first. */
async function idsOf(videos: VideoOperations['videos'], org: string): Promise<string[]> {
  if (!ID_PATTERN.test(org)) return [];
  const ids = (await videos.keys(`${org}.>`)).map((key) => key.slice(org.length + 1));
  return ids.sort().reverse();
}
