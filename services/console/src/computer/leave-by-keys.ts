// How the keyboard leaves a terminal or a desktop, which take all other keys. Not by Control+Shift+Tab: browsers use it to
// switch tabs, and do not pass it to pages.
import type { KeyboardEvent } from 'react';

export const LEAVE_KEYS = 'Control+Shift+Enter';

/** Handles a key before the terminal or the desktop does. */
export function onLeaveKeys(leave: () => void) {
  return (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !event.ctrlKey || !event.shiftKey) return;
    event.stopPropagation();
    event.preventDefault();
    leave();
  };
}
