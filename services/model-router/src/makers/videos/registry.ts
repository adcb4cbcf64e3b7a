// The list of all video makers that the catalog may name as an `adapter`.
import { makersAgent } from '../../http/makers-agent.ts';
import type { MakerDeps } from '../maker.ts';
import { AI_SDK_MAKERS } from '../registry.ts';
import { aiSdkVideos } from './ai-sdk-videos.ts';
import { localVideos } from './local-videos.ts';
import { openAiVideos } from './openai-videos.ts';
import type { VideoMaker } from './video-maker.ts';

interface VideoMakersDeps extends MakerDeps {
  /** For files of renderings. */
  folder: string;
}

export interface VideoMakers {
  readonly byName: Readonly<Record<string, VideoMaker>>;
  close(): Promise<void>;
}

export function createVideoMakers({ secret, now, folder }: VideoMakersDeps): VideoMakers {
  const dispatcher = makersAgent();
  const aiSdk = AI_SDK_MAKERS.filter(({ types }) => types.includes('video')).map(
    (one) => [one.name, aiSdkVideos(one, { secret, dispatcher, now })] as const,
  );
  return {
    byName: {
      'openai-compatible': openAiVideos({ secret, dispatcher, now }),
      local: localVideos(folder),
      ...Object.fromEntries(aiSdk),
    },
    close: () => dispatcher.destroy(),
  };
}
