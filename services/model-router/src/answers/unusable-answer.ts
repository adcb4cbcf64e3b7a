/** The upstream said 200 and gave nothing that can be used: a failed attempt. */
export class UnusableAnswer extends Error {}
