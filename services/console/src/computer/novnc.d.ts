// The part of noVNC that the desktop uses; the package has no types.
declare module '@novnc/novnc' {
  export default class RFB {
    constructor(target: HTMLElement, url: string);
    scaleViewport: boolean;
    background: string;
    addEventListener(type: 'connect' | 'disconnect', callback: () => void): void;
    focus(): void;
    disconnect(): void;
  }
}
