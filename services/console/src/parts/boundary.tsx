// Shows an error of a page instead of an empty window.
import { Component, type ReactNode } from 'react';
import { Failure } from './state.tsx';

export class Boundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    return error ? <Failure error={error} again={() => location.reload()} /> : this.props.children;
  }
}
