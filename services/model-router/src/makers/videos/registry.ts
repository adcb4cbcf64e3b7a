// The list of all video makers that the catalog may name as an `adapter`.
import type { Egress } from '@switchyard/egress';
import { createMakersAgent } from '../../http/makers-agent.ts';
import type { MakerDeps } from '../maker.ts';
import { AI_SDK_MAKERS } from '../registry.ts';
import { aiSdkVideos } from './ai-sdk-videos.ts';
import { localVideos } from './local-videos.ts';
import { openAiVideos } from './openai-videos.ts';
import type { VideoMaker } from './video-maker.ts';

interface VideoMakersDeps extends MakerDeps {
  egress: Egress;
  /** For files of renderings. */
  folder: string;
}

export interface VideoMakers {
  readonly byName: Readonly<Record<string, VideoMaker>>;
  close(): Promise<void>;
}

export function createVideoMakers({ secret, now, egress, folder }: VideoMakersDeps): VideoMakers {
  const dispatcher = createMakersAgent();
  const deps = { secret, dispatcher, egress, now };
  const aiSdk = AI_SDK_MAKERS.filter(({ types }) => types.includes('video')).map(
    (one) => [one.name, aiSdkVideos(one, deps)] as const,
  );
  return {
    byName: {
      'openai-compatible': openAiVideos(deps),
      local: localVideos(folder),
      ...Object.fromEntries(aiSdk),
    },
    close: () => dispatcher.destroy(),
  };
}
