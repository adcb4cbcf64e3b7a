// The only place where the video-worker maps subjects to handlers.
import type { ServiceHost } from '@switchyard/bus';
import { VIDEO_CONTENT_SUBJECT, VIDEO_CREATE_SUBJECT } from '@switchyard/contracts';
import type { VideoOperations } from './operations/video-operations.ts';
import { videoContent } from './operations/videos-content.ts';
import { createVideo } from './operations/videos-create.ts';
import { deleteVideo } from './operations/videos-delete.ts';
import { getVideo } from './operations/videos-get.ts';
import { listVideos } from './operations/videos-list.ts';

export function register(service: ServiceHost, deps: VideoOperations): void {
  service.stream(VIDEO_CREATE_SUBJECT, createVideo(deps));
  service.stream(VIDEO_CONTENT_SUBJECT, videoContent(deps));
  service.handle('videos.get', getVideo(deps));
  service.handle('videos.list', listVideos(deps));
  service.handle('videos.delete', deleteVideo(deps));
}
