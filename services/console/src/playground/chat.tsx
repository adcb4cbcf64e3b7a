// Streamed chat: the answer as it comes, and its cost.
import { Button, Group, Paper, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { call } from '../api/client.ts';
import { serverEvents } from '../api/server-events.ts';
import { Cost, ModelChoice, TryIt, type TypeProps, useRun } from './try-it.tsx';

interface Message {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}
interface Chunk {
  choices?: { delta?: { content?: string | null; reasoning_content?: string | null } }[];
  usage?: { cost?: number; prompt_tokens?: number; completion_tokens?: number } | null;
  error?: { message: string };
}
type Usage = NonNullable<Chunk['usage']>;

export default function Chat({ models }: TypeProps) {
  const [model, setModel] = useState(models[0]?.id ?? '');
  const [history, setHistory] = useState<Message[]>([]);
  const [text, setText] = useState('What is 6 * 7?');
  const [partial, setPartial] = useState('');
  const [usage, setUsage] = useState<Usage | null>(null);
  const [spent, setSpent] = useState(0);
  const run = useRun<void>();
  const messages: Message[] = [...history, { role: 'user', content: text }];
  const body = { model, stream: true, messages };

  const send = () => {
    setHistory(messages);
    setText('');
    setPartial('');
    setUsage(null);
    run.start(async (signal) => {
      let answer = '';
      try {
        for await (const { data } of serverEvents(await call('/v1/chat/completions', { body, signal }))) {
          if (data === '' || data === '[DONE]') continue;
          const chunk = JSON.parse(data) as Chunk;
          if (chunk.error) throw new Error(chunk.error.message);
          answer += chunk.choices?.[0]?.delta?.content ?? '';
          setPartial(answer);
          if (chunk.usage) {
            setUsage(chunk.usage);
            setSpent((before) => before + (chunk.usage?.cost ?? 0));
          }
        }
      } finally {
        if (answer) setHistory([...messages, { role: 'assistant', content: answer }]);
        setPartial('');
      }
    });
  };
  const shown: Message[] = partial ? [...history, { role: 'assistant', content: partial }] : history;
  return (
    <TryIt
      run={run}
      action="Send"
      onRun={send}
      path="/v1/chat/completions"
      body={body}
      disabled={text.trim() === ''}
      fields={
        <>
          <ModelChoice models={models} value={model} onChange={setModel} />
          <Textarea
            label="Message"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || text.trim() === '') return;
              event.preventDefault();
              send();
            }}
            autosize
            minRows={2}
            description="Enter sends, Shift and Enter begins a line"
          />
        </>
      }
    >
      <Stack gap="xs">
        {shown.map(({ role, content }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: messages are only ever added
          <Paper key={at} withBorder p="sm" ml={role === 'user' ? 'xl' : 0} data-role={role}>
            <Text size="xs" c="dimmed">
              {role === 'user' ? 'You' : model}
            </Text>
            <Text className="answer">{content}</Text>
          </Paper>
        ))}
        {usage && (
          <Group gap="lg">
            <Cost of={usage.cost} />
            <Text size="sm" c="dimmed">
              {usage.prompt_tokens} tokens in, {usage.completion_tokens} out
            </Text>
            <Text size="sm" c="dimmed">
              This chat: ${spent.toFixed(9)}
            </Text>
          </Group>
        )}
        {history.length > 0 && !run.busy && (
          <Group>
            <Button
              variant="default"
              size="compact-sm"
              onClick={() => {
                setHistory([]);
                setUsage(null);
                setSpent(0);
              }}
            >
              New chat
            </Button>
          </Group>
        )}
      </Stack>
    </TryIt>
  );
}
