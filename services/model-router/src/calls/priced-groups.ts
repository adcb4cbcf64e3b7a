// The table of request members that select or price the work, for every maker.
import type { ModelType } from '@switchyard/contracts';
import { AI_SDK_MAKERS } from '../makers/registry.ts';

export interface PricedGroup {
  /** The makers' names in any spelling: `max_tokens` also covers `maxTokens` and `MaxTokens`. */
  readonly names: readonly string[];
  /** Advice to the caller. */
  readonly advice: string;
  /** Default: all types. */
  readonly types?: readonly ModelType[];
  /** The object that has these members; others may use their names. Default: wherever makers keep settings. */
  readonly within?: string;
  /** Values that cost no more than the catalog's price. */
  readonly allowed?: readonly string[];
  /** Applies to models with a price per image only; a model priced by tokens is charged for what it draws. */
  readonly perImageOnly?: true;
}

const OF_MAKERS = AI_SDK_MAKERS.flatMap(({ priced = {} }) => Object.entries(priced));

const COMMON: readonly PricedGroup[] = [
  {
    names: words(`
      model models model_id model_name model_version version engine engine_id deployment deployment_id
      deployment_name provider`),
    advice: 'Use model.',
  },
  {
    // Without its usage event a stream is charged by an estimate without hidden thinking.
    names: words('stream stream_options'),
    types: ['language'],
    advice: 'Set stream and stream_options next to messages.',
  },
  {
    // An answer in another form cannot be read, so the maker bills it and the caller pays nothing.
    names: words('stream stream_format response_format encoding_format'),
    types: ['image', 'speech', 'transcription', 'embedding'],
    advice: 'Use the field of the endpoint.',
  },
  { names: ['tier'], types: ['transcription'], advice: 'Use model.' },
  {
    names: ['service_tier'],
    allowed: ['auto', 'default', 'flex', 'standard', 'standard_only'],
    advice: 'Only the standard tier is available.',
  },
  {
    names: ['speed'],
    types: ['language'],
    allowed: ['standard'],
    advice: 'Only the standard tier is available.',
  },
  {
    names: ['inference_geo'],
    types: ['language'],
    allowed: ['global'],
    advice: 'Only the standard tier is available.',
  },
  {
    // OpenAI bills the prompt that it writes to its cache, and gives no answer with a price.
    names: ['prewarm'],
    within: 'prompt_cache_options',
    types: ['language'],
    advice: 'Every answer writes its prompt to the cache.',
  },
  {
    names: ['ttl'],
    within: 'prompt_cache_options',
    types: ['language'],
    allowed: ['30m'],
    advice: 'Only the default, 30m, is available.',
  },
  {
    // The answer would bypass us and its price.
    names: words('callback callback_uri callback_url webhook webhook_uri webhook_url notify_hook'),
    advice: 'Answers are returned in the response only.',
  },
  {
    names: words(`
      n best_of num_candidates num_generations num_return_sequences batch_size
      num_samples number_of_results num_results n_variants num_images num_outputs
      number_of_images image_count max_images num_images_per_prompt sequential_image_generation num_videos
      number_of_videos video_count`),
    types: ['language', 'image', 'video', 'decision'],
    advice: 'Use n where the endpoint supports it.',
  },
  {
    names: words(`
      max_tokens max_completion_tokens max_output_tokens max_new_tokens max_total_tokens
      max_tokens_to_sample max_gen_len max_gen_toks max_length n_predict num_predict`),
    types: ['language', 'decision'],
    advice: 'Use max_tokens where the endpoint supports it.',
  },
  {
    names: words(`
      duration durations duration_seconds duration_secs duration_ms seconds n_seconds length video_length
      frames num_frames frame_count`),
    types: ['video'],
    advice: 'Use duration.',
  },
  {
    names: words(`
      resolution video_resolution output_resolution size video_size width height quality video_quality
      mode upscale upscale_factor`),
    types: ['video'],
    advice: 'Use resolution.',
  },
  {
    names: words(`
      size image_size width height resolution image_resolution output_resolution
      megapixels output_megapixels quality image_quality upscale upscale_factor`),
    types: ['image'],
    perImageOnly: true,
    advice: 'Use size.',
  },
  {
    names: words('input inputs text texts ssml script transcript prompt content contents dialogue gen_text'),
    types: ['speech'],
    advice: 'Use input.',
  },
  {
    names: words('input inputs text texts content contents images documents'),
    types: ['embedding'],
    advice: 'Use input.',
  },
  {
    names: words(`
      file files file_id file_url audio audio_id audio_file audio_url input_audio url uri source_url
      media_url`),
    types: ['transcription'],
    advice: 'Upload the audio in the request.',
  },
  {
    names: words('multichannel channels num_channels channel_count'),
    types: ['transcription'],
    advice: 'Only one channel is transcribed.',
  },
];

/** With the names of makers' declarations. They hold for every maker: a gateway may pass a request on to any. */
export const PRICED_GROUPS: readonly PricedGroup[] = COMMON.map((group) => ({
  ...group,
  names: [
    ...group.names,
    ...OF_MAKERS.filter(([, ours]) => group.names.includes(ours)).map(([name]) => name),
  ],
}));

/** Objects, and lists of objects, whose members makers read like top-level members. */
export const CONTAINERS: readonly string[] = [
  ...AI_SDK_MAKERS.flatMap(({ containers = [], repeated = [] }) => [...containers, ...repeated]),
  ...words(`
    image_config image_generation_config video_config config parameters input instances options arguments
    extra_body prompt_cache_options`),
];

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}
