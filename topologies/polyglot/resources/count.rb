# frozen_string_literal: true

# Counts words and keeps the counts in its state, which outlives this process.
#
# A line that failed half-way comes again. So a word keeps the numbers of the
# lines that it was counted of, as long as these are not settled as a whole; all
# lines below the number on stream "settled" are.

require_relative 'stormring'

class Count < Storm::StatefulBolt
  def prepare(_conf, _context)
    @settled = state['settled'] || 0
  end

  def process(tup)
    return settle(tup.values[0]) if tup.stream == 'settled'

    word, times, line = tup.values
    n, lines = state["word #{word}"] || [0, []]
    if line >= @settled && !lines.include?(line)
      n += times
      lines = lines.select { |old| old >= @settled } << line
      state["word #{word}"] = [n, lines]
    end
    emit([word, n])
  end

  def settle(line)
    @settled = line
    state['settled'] = line
  end
end

Count.new.run
