// The SDK's model for OpenAI's protocol, which does not know `reasoning_details`: the signed reasoning that a maker needs
// back in the next step. Here a reasoning part without text has it as metadata, and the SDK keeps the part.
import { OpenAICompatibleChatLanguageModel } from '@ai-sdk/openai-compatible';
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider';
import { addDetails, type ChatReasoningDetail } from '@switchyard/contracts';
import { z } from 'zod';
import { NAME } from './call-api.ts';

const signed = z.looseObject({ reasoning_details: z.array(z.looseObject({})) });
/** A completion has a message, a chunk has a delta. */
const signedAnswer = z.object({
  choices: z.tuple([z.union([z.object({ message: signed }), z.object({ delta: signed })])]),
});

export class ReasoningChatModel extends OpenAICompatibleChatLanguageModel {
  override async doGenerate(options: LanguageModelV4CallOptions): Promise<LanguageModelV4GenerateResult> {
    const result = await super.doGenerate({ ...options, prompt: options.prompt.map(withDetails) });
    const details = detailsIn(result.response?.body);
    if (details.length === 0) return result;
    const part = { type: 'reasoning' as const, text: '', providerMetadata: metadataOf(details) };
    return { ...result, content: [...result.content, part] };
  }

  override async doStream(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamResult> {
    const prompt = options.prompt.map(withDetails);
    const result = await super.doStream({ ...options, prompt, includeRawChunks: true });
    return { ...result, stream: result.stream.pipeThrough(addReasoning(options.includeRawChunks ?? false)) };
  }
}

function addReasoning(showsRaw: boolean) {
  const details: ChatReasoningDetail[] = [];
  return new TransformStream<LanguageModelV4StreamPart, LanguageModelV4StreamPart>({
    transform(part, controller) {
      if (part.type === 'raw') {
        addDetails(details, detailsIn(part.rawValue));
        if (!showsRaw) return;
      }
      if (part.type === 'finish' && details.length > 0) {
        const id = 'reasoning-details';
        controller.enqueue({ type: 'reasoning-start', id });
        controller.enqueue({ type: 'reasoning-end', id, providerMetadata: metadataOf(details) });
      }
      controller.enqueue(part);
    },
  });
}

function detailsIn(answer: unknown): ChatReasoningDetail[] {
  const { success, data } = signedAnswer.safeParse(answer);
  if (!success) return [];
  const [choice] = data.choices;
  return ('message' in choice ? choice.message : choice.delta).reasoning_details;
}

function metadataOf(details: readonly ChatReasoningDetail[]): SharedV4ProviderMetadata {
  return { [NAME]: { reasoning_details: details } } as SharedV4ProviderMetadata;
}

/** The SDK's model writes the options `openaiCompatible` of a message into the message. */
function withDetails(message: LanguageModelV4Message): LanguageModelV4Message {
  if (message.role !== 'assistant') return message;
  const parts = message.content.map(({ providerOptions }) => signed.safeParse(providerOptions?.[NAME]));
  const details = parts.flatMap(({ data }) => data?.reasoning_details ?? []);
  if (details.length === 0) return message;
  const openaiCompatible = { ...message.providerOptions?.openaiCompatible, reasoning_details: details };
  return {
    ...message,
    providerOptions: { ...message.providerOptions, openaiCompatible },
  } as LanguageModelV4Message;
}
