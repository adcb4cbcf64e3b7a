// The part of noVNC that the desktop uses; the package has no types.
declare module '@novnc/novnc' {
  export default class RFB extends EventTarget {
    constructor(target: HTMLElement, url: string);
    scaleViewport: boolean;
    background: string;
    focus(): void;
    disconnect(): void;
  }
}
