/** The only key that the bare hop accepts. */
export const BARE_HOP_KEY = 'sk-floor';
