/** Whether the installation runs on the machine of this browser, as `npm start` does: its folder is then at hand. */
export const isOwnMachine = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(location.hostname);
