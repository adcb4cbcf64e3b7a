// What the eight parts of the playground share: the choice of a model, a run with its state, and the call as code.
import { Button, Group, NativeSelect, SegmentedControl, Stack, Text } from '@mantine/core';
import { useInputState } from '@mantine/hooks';
import type { ModelObject, ModelType } from '@switchyard/contracts';
import { type ComponentType, type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { call, useGet } from '../api/client.ts';
import { Code, dollars } from '../parts/show.tsx';
import { Empty, Failure, Loaded, Loading } from '../parts/state.tsx';
import { CODE_KINDS, type CodeKind, type ShownCall } from './call-code.ts';

export interface TypeProps {
  /** Id of the chosen model. */
  readonly model: string;
  readonly models: readonly ModelObject[];
}

/** The choice of a model that can be called here, and the part that tries it. */
export function WithModel({ type, Part }: { type: ModelType; Part: ComponentType<TypeProps> }) {
  const models = useGet<{ data: ModelObject[] }>('/v1/models');
  const [chosen, setChosen] = useInputState('');
  return (
    <Loaded of={models}>
      {({ data }) => {
        const usable = data.filter((model) => model.type === type && model.available);
        const { id: model } = usable.find(({ id }) => id === chosen) ?? usable[0] ?? {};
        if (model === undefined)
          return (
            <Empty title="No model of this type can be called here">
              The page Models shows which variable to set for each.
            </Empty>
          );
        return (
          <Stack gap="sm">
            <NativeSelect
              label="Model"
              data={usable.map(({ id }) => id)}
              value={model}
              onChange={setChosen}
            />
            <Suspense fallback={<Loading />}>
              <Part model={model} models={usable} />
            </Suspense>
          </Stack>
        );
      }}
    </Loaded>
  );
}

interface Run<T> {
  readonly busy: boolean;
  readonly error: Error | null;
  readonly result: T | null;
  start(work: (signal: AbortSignal) => Promise<T>): void;
  stop(): void;
}

/** One call at a time: a new call, or leaving the page, cancels the current one. */
export function useRun<T>(): Run<T> {
  const [state, setState] = useState<{ busy: boolean; error: Error | null; result: T | null }>({
    busy: false,
    error: null,
    result: null,
  });
  const running = useRef<AbortController | null>(null);
  useEffect(() => () => running.current?.abort(), []);
  return {
    ...state,
    start(work) {
      running.current?.abort();
      const mine = new AbortController();
      running.current = mine;
      setState({ busy: true, error: null, result: null });
      work(mine.signal).then(
        (result) => running.current === mine && setState({ busy: false, error: null, result }),
        (error: Error) =>
          running.current === mine &&
          setState({ busy: false, error: mine.signal.aborted ? null : error, result: null }),
      );
    },
    stop: () => running.current?.abort(),
  };
}

interface ModelTrialProps extends ShownCall {
  readonly run: Pick<Run<unknown>, 'busy' | 'error' | 'stop'>;
  readonly action: string;
  readonly onRun: () => void;
  readonly disabled?: boolean;
  readonly fields: ReactNode;
  /** The result. */
  readonly children: ReactNode;
}

export function ModelTrial({ run, action, onRun, disabled, fields, children, ...shown }: ModelTrialProps) {
  return (
    <Stack>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onRun();
        }}
      >
        <Stack gap="sm">
          {fields}
          <Group>
            <Button type="submit" loading={run.busy} disabled={disabled ?? false}>
              {action}
            </Button>
            {run.busy && (
              <Button variant="default" onClick={run.stop}>
                Stop
              </Button>
            )}
          </Group>
        </Stack>
      </form>
      {run.error && <Failure error={run.error} />}
      <div aria-live="polite">{children}</div>
      <SameCall {...shown} />
    </Stack>
  );
}

interface OneCallProps<T> extends ShownCall, Pick<ModelTrialProps, 'action' | 'disabled' | 'fields'> {
  /** The body that is sent; by default the one that is shown. */
  readonly form?: () => FormData;
  readonly read: (answer: Response) => Promise<T>;
  readonly children: (result: T) => ReactNode;
}

/** A trial by one call whose answer is the result. */
export function OneCall<T>({ form, read, children, ...trial }: OneCallProps<T>) {
  const run = useRun<{ result: T; cost: string | null }>();
  const start = () =>
    run.start(async (signal) => {
      const answer = await call(trial.path, { body: form?.() ?? trial.body, signal });
      return { result: await read(answer), cost: answer.headers.get('x-service-cost') };
    });
  return (
    <ModelTrial {...trial} run={run} onRun={start}>
      {run.result && (
        <Stack gap="xs">
          {children(run.result.result)}
          <Cost of={run.result.cost} />
        </Stack>
      )}
    </ModelTrial>
  );
}

/** The call as code, for the client that is chosen. */
function SameCall(call: ShownCall) {
  const [kind, setKind] = useState<CodeKind>('curl');
  return (
    <Stack gap="xs">
      <SegmentedControl
        aria-label="The same call as code"
        data={Object.keys(CODE_KINDS)}
        value={kind}
        onChange={(chosen) => setKind(chosen as CodeKind)}
        size="xs"
        style={{ alignSelf: 'flex-start' }}
      />
      <Code label={`The same call with ${kind}`}>{CODE_KINDS[kind](call)}</Code>
    </Stack>
  );
}

export function Cost({ of }: { of: number | string | null | undefined }) {
  if (of === null || of === undefined) return null;
  return (
    <Text size="sm" c="dimmed" data-testid="cost">
      Cost: {dollars(Number(of))}
    </Text>
  );
}
