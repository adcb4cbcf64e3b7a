import type { SpeechModelV4, SpeechModelV4CallOptions, SpeechModelV4Result } from '@ai-sdk/provider';
import { costMetadata, extraFields, NAME, postForBytes, SwitchyardModel } from './call-api.ts';

export class SwitchyardSpeechModel extends SwitchyardModel implements SpeechModelV4 {
  readonly provider = `${NAME}.speech`;

  async doGenerate(options: SpeechModelV4CallOptions): Promise<SpeechModelV4Result> {
    const { text, voice, outputFormat, speed, instructions, language, providerOptions } = options;
    const body = {
      model: this.modelId,
      input: text,
      voice,
      response_format: outputFormat,
      speed,
      instructions,
      language: language === 'auto' ? undefined : language,
      ...extraFields(providerOptions),
    };
    const { value, responseHeaders = {} } = await postForBytes(this.access, '/audio/speech', body, options);
    return {
      audio: value,
      warnings: [],
      // An audio body has no usage field: the cost is in a header.
      providerMetadata: costMetadata(Number(responseHeaders['x-service-cost'])),
      request: { body: JSON.stringify(body) },
      response: { timestamp: new Date(), modelId: this.modelId, headers: responseHeaders },
    };
  }
}
