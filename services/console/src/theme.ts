// Colours, sizes and defaults of components. Text has a contrast of at least 4.5 in both themes.
import { type CSSVariablesResolver, createTheme } from '@mantine/core';
import type { MouseEvent } from 'react';

const COLORS = ['blue', 'green', 'red', 'orange', 'gray', 'grape', 'teal'] as const;

export const theme = createTheme({
  primaryColor: 'blue',
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  cursorType: 'pointer',
  components: {
    FileButton: { defaultProps: { inputProps: { onClick: forgetFiles } } },
    // Its element is a `header`, which would be a second banner of the page.
    ModalHeader: { defaultProps: { role: 'presentation' } },
  },
});

/** A browser reports no change when the same file is chosen again. */
function forgetFiles({ currentTarget }: MouseEvent<HTMLInputElement>): void {
  currentTarget.value = '';
}

const lightText = (shade: number) =>
  Object.fromEntries(
    COLORS.flatMap((color) => [
      [`--mantine-color-${color}-light-color`, `var(--mantine-color-${color}-${shade})`],
      [`--mantine-color-${color}-text`, `var(--mantine-color-${color}-${shade})`],
    ]),
  );

export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    ...lightText(9),
    '--mantine-color-green-light-color': '#1b6029',
    '--mantine-color-orange-light-color': '#8f3403',
    '--mantine-color-dimmed': '#5c636a',
    '--mantine-color-placeholder': '#666d74',
    '--mantine-color-error': '#b42318',
    '--mantine-color-anchor': 'var(--mantine-color-blue-9)',
  },
  dark: {
    ...lightText(2),
    '--mantine-color-dimmed': '#a6abb2',
    '--mantine-color-placeholder': '#9aa0a8',
    '--mantine-color-error': '#ff9a92',
    '--mantine-color-anchor': 'var(--mantine-color-blue-3)',
  },
});
