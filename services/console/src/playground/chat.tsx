// Streamed chat with images, tools and fallback models: the answer as it is written, and its cost.
import {
  Button,
  CloseButton,
  FileButton,
  Group,
  JsonInput,
  MultiSelect,
  Stack,
  Switch,
  Text,
  Textarea,
} from '@mantine/core';
import { type KeyboardEvent, useState } from 'react';
import { call } from '../api/client.ts';
import { type ChatAnswer, chatAnswers, NO_ANSWER } from './chat-answer.ts';
import { ChatMessage, ToolResults } from './chat-messages.tsx';
import type { ContentPart, Message } from './model-messages.ts';
import { Cost, ModelTrial, type TypeProps, useRun } from './model-trial.tsx';
import { parseTools } from './parse-tools.ts';

const PATH = '/v1/chat/completions';
const TOOLS = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'The weather in a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];

export default function Chat({ model, models }: TypeProps) {
  const [fallbacks, setFallbacks] = useState<string[]>([]);
  const [tools, setTools] = useState<string | null>(null);
  const [text, setText] = useState('What is 6 * 7?');
  const [image, setImage] = useState<string | null>(null);
  const toolList = tools === null ? null : parseTools(tools);
  const options = {
    model,
    ...(fallbacks.length === 0 ? {} : { models: fallbacks }),
    ...(toolList ? { tools: toolList } : {}),
    stream: true,
  };
  const conversation = useConversation(options);
  const { history, openCalls } = conversation;
  const sent = history.at(-1)?.role === 'assistant' ? history.slice(0, -1) : history;
  const next: Message = { role: 'user', content: contentOf(text, image) };
  const isEmpty = text.trim() === '';
  const canSend = !isEmpty && toolList !== undefined && openCalls.length === 0 && !conversation.run.busy;
  const ask = () => {
    setText('');
    setImage(null);
    conversation.send([...history, next], () => {
      setText((typed) => [text, typed].filter(Boolean).join('\n'));
      setImage(image);
    });
  };
  const sendByEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing || !canSend) return;
    event.preventDefault();
    ask();
  };
  return (
    <ModelTrial
      run={conversation.run}
      action="Send"
      onRun={ask}
      type="language"
      path={PATH}
      body={{ ...options, messages: isEmpty && sent.length > 0 ? sent : [...history, next] }}
      disabled={!canSend}
      fields={
        <>
          <MultiSelect
            label="Fallbacks"
            description="Asked in order when the model cannot answer"
            inputWrapperOrder={['label', 'input', 'description', 'error']}
            data={models.map(({ id }) => id).filter((id) => id !== model)}
            value={fallbacks}
            onChange={setFallbacks}
            placeholder={fallbacks.length === 0 ? 'none' : ''}
          />
          <Textarea
            label="Message"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            onKeyDown={sendByEnter}
            autosize
            minRows={2}
            description="Enter sends; Shift and Enter starts a new line"
          />
          <Attachments image={image} setImage={setImage} tools={tools} setTools={setTools} />
        </>
      }
    >
      <Conversation of={conversation} />
    </ModelTrial>
  );
}

/** The messages so far, the answer that is being written, and what they cost. */
function useConversation(options: object) {
  const [history, setHistory] = useState<readonly Message[]>([]);
  const [answer, setAnswer] = useState<ChatAnswer>(NO_ANSWER);
  const [spent, setSpent] = useState(0);
  const run = useRun<void>();
  const last = history.at(-1);
  return {
    history,
    answer,
    spent,
    run,
    /** Calls of tools that wait for their results. */
    openCalls: last?.role === 'assistant' ? (last.tool_calls ?? []) : [],
    /** @param takeBack without it, messages that get no answer stay in the chat */
    send(messages: readonly Message[], takeBack?: () => void) {
      setHistory(messages);
      setAnswer(NO_ANSWER);
      run.start(async (signal) => {
        let received = NO_ANSWER;
        const isAnswered = () => received.text !== '' || received.toolCalls.length > 0;
        try {
          const response = await call(PATH, { body: { ...options, messages }, signal });
          for await (received of chatAnswers(response)) setAnswer(received);
          setSpent((before) => before + (received.usage?.cost ?? 0));
        } catch (error) {
          if (takeBack && !isAnswered()) {
            setHistory(history);
            takeBack();
          }
          throw error;
        } finally {
          if (isAnswered()) setHistory([...messages, toMessage(received)]);
        }
      });
    },
    startOver() {
      setHistory([]);
      setAnswer(NO_ANSWER);
      setSpent(0);
    },
  };
}

function Conversation({ of }: { of: ReturnType<typeof useConversation> }) {
  const { history, answer, spent, run, openCalls, send, startOver } = of;
  return (
    <Stack gap="xs">
      {history.map((message, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: messages are only appended
        <ChatMessage key={at} message={message} />
      ))}
      {run.busy && answer !== NO_ANSWER && <ChatMessage message={toMessage(answer)} />}
      {openCalls.length > 0 && !run.busy && (
        <ToolResults calls={openCalls} onSend={(results) => send([...history, ...results])} />
      )}
      <Spent answer={answer} total={spent} />
      {history.length > 0 && !run.busy && (
        <Group>
          <Button variant="default" size="compact-sm" onClick={startOver}>
            New chat
          </Button>
        </Group>
      )}
    </Stack>
  );
}

interface AttachmentsProps {
  image: string | null;
  setImage: (url: string | null) => void;
  /** JSON; null: the model gets no tools. */
  tools: string | null;
  setTools: (json: string | null) => void;
}

function Attachments({ image, setImage, tools, setTools }: AttachmentsProps) {
  return (
    <>
      <Group>
        <FileButton accept="image/*" onChange={(file) => file && void dataUrl(file).then(setImage)}>
          {(props) => (
            <Button {...props} variant="default" size="compact-sm">
              Attach an image
            </Button>
          )}
        </FileButton>
        {image && (
          <Group gap={4}>
            <Text size="sm">1 image</Text>
            <CloseButton size="sm" aria-label="Remove the image" onClick={() => setImage(null)} />
          </Group>
        )}
        <Switch
          label="Tools"
          checked={tools !== null}
          onChange={(event) => setTools(event.currentTarget.checked ? JSON.stringify(TOOLS, null, 2) : null)}
        />
      </Group>
      {tools !== null && (
        <JsonInput
          label="Tools as JSON"
          value={tools}
          onChange={setTools}
          autosize
          minRows={4}
          maxRows={16}
          error={parseTools(tools) === undefined && 'This is not a JSON list of functions with names.'}
        />
      )}
    </>
  );
}

function Spent({ answer: { usage, model }, total }: { answer: ChatAnswer; total: number }) {
  if (!usage) return null;
  return (
    <Group gap="lg">
      <Cost of={usage.cost} />
      <Text size="sm" c="dimmed">
        {usage.prompt_tokens} tokens in, {usage.completion_tokens} out, by {model}
      </Text>
      <Text size="sm" c="dimmed">
        This chat without stopped answers: ${total.toFixed(9)}
      </Text>
    </Group>
  );
}

function toMessage({ text, toolCalls }: ChatAnswer): Message {
  return { role: 'assistant', content: text, ...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}) };
}

function contentOf(text: string, image: string | null): string | ContentPart[] {
  if (image === null) return text;
  return [
    { type: 'text', text },
    { type: 'image_url', image_url: { url: image } },
  ];
}

function dataUrl(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(reader.result as string);
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}
