// Buttons and dialogs that change something through the API.
import { Button, type ButtonProps, Group, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { type FormEvent, type ReactNode, useState } from 'react';
import { type Post, postOnce } from '../api/client.ts';
import { Failure } from './state.tsx';

interface Work {
  readonly busy: boolean;
  readonly error: Error | null;
  /** Resolves with true if the work succeeded. The work of a dialog sends its POSTs through `post`: a retry is safe. */
  run(work: (post: Post) => Promise<unknown>): Promise<boolean>;
}

export function useWork(): Work {
  const [state, setState] = useState<{ busy: boolean; error: Error | null }>({ busy: false, error: null });
  const [post] = useState(postOnce);
  return {
    ...state,
    async run(work) {
      setState({ busy: true, error: null });
      try {
        await work(post);
        setState({ busy: false, error: null });
        return true;
      } catch (error) {
        setState({ busy: false, error: error as Error });
        return false;
      }
    },
  };
}

interface WorkFormProps {
  /** Label of the button. */
  readonly action: string;
  readonly disabled?: boolean;
  readonly work: (post: Post) => Promise<unknown>;
  readonly children: ReactNode;
}

/** A form that runs `work` on submit. */
export function WorkForm({ action, disabled = false, work, children }: WorkFormProps) {
  const { run, busy, error } = useWork();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(work);
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {children}
        {error && <Failure error={error} />}
        <Button type="submit" loading={busy} disabled={disabled}>
          {action}
        </Button>
      </Stack>
    </form>
  );
}

interface ConfirmProps extends Omit<ButtonProps, 'children'> {
  readonly label: string;
  readonly question: string;
  readonly work: (post: Post) => Promise<unknown>;
}

/** A button that asks for confirmation first. */
export function Confirm({ label, question, work, ...button }: ConfirmProps) {
  return (
    <Dialog label={label} title={label} variant="light" color="red" size="compact-sm" {...button}>
      {(close) => <Confirmation label={label} question={question} work={work} onClose={close} />}
    </Dialog>
  );
}

interface ConfirmationProps extends Pick<ConfirmProps, 'label' | 'question' | 'work'> {
  readonly onClose: () => void;
}

function Confirmation({ label, question, work, onClose }: ConfirmationProps) {
  const action = useWork();
  return (
    <Stack>
      <Text size="sm">{question}</Text>
      {action.error && <Failure error={action.error} />}
      <Group justify="flex-end">
        <Button variant="default" onClick={onClose} data-autofocus>
          Cancel
        </Button>
        <Button color="red" loading={action.busy} onClick={async () => (await action.run(work)) && onClose()}>
          {label}
        </Button>
      </Group>
    </Stack>
  );
}

interface DialogProps extends Omit<ButtonProps, 'children'> {
  readonly label: string;
  readonly title: string;
  /** The content; `close` closes the dialog. */
  readonly children: (close: () => void) => ReactNode;
}

/** A button that opens a dialog. */
export function Dialog({ label, title, children, ...button }: DialogProps) {
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button {...button} onClick={open}>
        {label}
      </Button>
      <Modal
        opened={opened}
        onClose={close}
        title={title}
        size="lg"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {opened && children(close)}
      </Modal>
    </>
  );
}
