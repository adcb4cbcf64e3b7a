// The video-worker's only wiring list: subject -> what serves it.
import type { ServiceHost } from '@switchyard/bus';
import { VIDEO_CONTENT_SUBJECT, VIDEO_CREATE_SUBJECT } from '@switchyard/contracts';
import type { VideoOperations } from './operations/video-operations.ts';
import { videoContent } from './operations/videos-content.ts';
import { createVideo } from './operations/videos-create.ts';
import { deleteVideo } from './operations/videos-delete.ts';
import { getVideo } from './operations/videos-get.ts';
import { listVideos } from './operations/videos-list.ts';

export function register(service: ServiceHost, on: VideoOperations): void {
  service.stream(VIDEO_CREATE_SUBJECT, createVideo(on));
  service.stream(VIDEO_CONTENT_SUBJECT, videoContent(on));
  service.handle('videos.get', getVideo(on));
  service.handle('videos.list', listVideos(on));
  service.handle('videos.delete', deleteVideo(on));
}
