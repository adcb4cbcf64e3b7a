// POST /v1/audio/transcriptions: the audio is read in either of its forms, and goes on to the router as it is, all that was
// said beside it in the head of the call.
import {
  AUDIO_BYTES_MAX,
  type KeyRecord,
  MODEL_TYPES,
  type ModelCallHead,
  modelCallSubject,
  transcriptionFormRequest,
  transcriptionJsonRequest,
  transcriptionResult,
} from '@switchyard/contracts';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { allowedModels } from '../../auth/spending.ts';
import { type Route, rawRoute } from '../../http/route.ts';
import { handOver } from '../hand-over.ts';
import { MODEL_ERRORS, namesOf, requireUsageStore } from '../model-call-routes.ts';
import { type CallRelay, relayCall } from '../relay-call.ts';
import { readTranscription, TRANSCRIPTION_BODY_BYTES_MAX } from './read-transcription.ts';

const TYPE = 'transcription';

export function transcriptionRoutes(relay: CallRelay): Route[] {
  return [
    rawRoute(
      {
        method: 'POST',
        path: '/v1/audio/transcriptions',
        permission: 'models:write',
        tag: 'Models',
        summary: 'Turn speech into text (OpenAI’s shape, or the audio as base64 in JSON)',
        description:
          `Charged per ${MODEL_TYPES[TYPE].chargedPer}, by the true length of the file. ` +
          `At most ${AUDIO_BYTES_MAX} bytes of audio in either form. ` +
          'With `response_format` `text`, `srt` or `vtt` the answer is text, its cost in the header X-Service-Cost.',
        bodyBytesMax: TRANSCRIPTION_BODY_BYTES_MAX,
        request: { body: transcriptionJsonRequest, form: transcriptionFormRequest },
        response: {
          status: 200,
          priced: true,
          description: 'The text, with its cost in `usage.cost`',
          body: transcriptionResult,
          asText: ['text/plain', 'application/x-subrip', 'text/vtt'],
        },
        errors: [...MODEL_ERRORS, 'invalid_multipart', 'audio_unreadable'],
      },
      (request, reply, key) => {
        request.subject = { type: TYPE, model: null, computer: null };
        transcribe(relay, key, request, reply).catch((error) => reply.send(error));
      },
    ),
  ];
}

async function transcribe(
  relay: CallRelay,
  key: KeyRecord,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  requireUsageStore(relay); // before a body is read for nothing
  const on = { budget: relay.largeBodies, clock: relay.clock };
  const { model, models, params, audio, release } = await readTranscription(request.raw, on);
  request.heldBody = { release }; // until it is handed over
  const names = namesOf({ model, models });
  request.subject.model = names[0] ?? null;
  const head: ModelCallHead = {
    request_id: request.id,
    org: key.org,
    key_id: key.id,
    models: allowedModels(key, names),
    stream: false,
    include_usage: false,
    ...(relay.spending.isLimited(key) ? { limited: true } : {}),
    received_at: relay.clock.now(),
    body_bytes: audio.length,
    params,
  };
  const body = handOver(audio, request.heldBody);
  relayCall(relay, { subject: modelCallSubject(TYPE), head, body }, request, reply);
}
