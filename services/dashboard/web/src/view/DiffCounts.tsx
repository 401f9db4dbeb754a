/** Lines added and removed, as +3 −1. */
export function DiffCounts({ added, removed }: { added: number; removed: number }) {
  return (
    <span className="counts">
      {added > 0 && <span className="add">+{added}</span>} {removed > 0 && <span className="del">−{removed}</span>}
      {added + removed === 0 && <span className="dim">±0</span>}
    </span>
  );
}
