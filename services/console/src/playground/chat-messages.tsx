// The messages of a chat as they are shown.
import { Button, Group, Image, Paper, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { ContentPart, Message, ToolCall } from './model-messages.ts';

const NAMES = { user: 'You', assistant: 'Assistant', tool: 'Tool' } as const;

export function ChatMessage({ message }: { message: Message }) {
  const { role } = message;
  return (
    <Paper withBorder p="sm" ml={role === 'assistant' ? 0 : 'xl'} data-role={role}>
      <Text size="xs" c="dimmed">
        {NAMES[role]}
      </Text>
      {partsOf(message).map((part) =>
        part.type === 'text' ? (
          <Text key={part.text} className="answer">
            {part.text}
          </Text>
        ) : (
          <Image key={part.image_url.url} src={part.image_url.url} alt="Attached" maw={240} radius="md" />
        ),
      )}
      {role === 'assistant' &&
        message.tool_calls?.map(({ id, function: called }) => (
          <Text key={id} size="sm" ff="monospace">
            calls {called.name}({called.arguments})
          </Text>
        ))}
    </Paper>
  );
}

function partsOf({ content }: Message): readonly ContentPart[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

interface ToolResultsProps {
  readonly calls: readonly ToolCall[];
  readonly onSend: (results: Message[]) => void;
}

/** Asks for the result of each tool that the model called: the playground runs none. */
export function ToolResults({ calls, onSend }: ToolResultsProps) {
  const [results, setResults] = useState<Record<string, string>>({});
  const send = () =>
    onSend(calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: results[id] ?? '' })));
  return (
    <Stack gap="xs">
      {calls.map(({ id, function: { name } }) => (
        <TextInput
          key={id}
          label={`Result of ${name}`}
          value={results[id] ?? ''}
          onChange={({ currentTarget: { value } }) => setResults((before) => ({ ...before, [id]: value }))}
        />
      ))}
      <Group>
        <Button variant="light" onClick={send}>
          Send the results
        </Button>
      </Group>
    </Stack>
  );
}
