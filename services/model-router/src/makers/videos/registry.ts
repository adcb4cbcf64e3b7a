// Every maker of videos that the catalog may name as an `adapter`: one list.

import { AI_SDK_MAKERS, makersAgent } from '../registry.ts';
import { aiSdkVideos } from './ai-sdk-videos.ts';
import { localVideos } from './local-videos.ts';
import { openAiVideos } from './openai-videos.ts';
import type { VideoMaker } from './video-maker.ts';

export interface VideoMakersOptions {
  /** Reads an upstream's credentials by the name of their variable. */
  secret(name: string): string | undefined;
  /** Milliseconds since the epoch. */
  now(): number;
  /** For files of renderings. */
  folder: string;
}

export interface VideoMakers {
  readonly byName: Readonly<Record<string, VideoMaker>>;
  close(): Promise<void>;
}

export function createVideoMakers({ secret, now, folder }: VideoMakersOptions): VideoMakers {
  const dispatcher = makersAgent();
  const aiSdk = AI_SDK_MAKERS.filter(({ types }) => types.includes('video')).map(
    (one) => [one.name, aiSdkVideos(one, { secret, dispatcher, now })] as const,
  );
  return {
    byName: {
      'openai-compatible': openAiVideos({ secret, dispatcher }),
      local: localVideos(folder),
      ...Object.fromEntries(aiSdk),
    },
    close: () => dispatcher.destroy(),
  };
}
