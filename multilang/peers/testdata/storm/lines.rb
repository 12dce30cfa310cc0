require_relative "storm"

class Lines < Storm::Spout
  TEXT = ["the cow jumped over the moon", "an apple a day"]

  def open(conf, _context)
    @todo = (0...conf["test.lines"]).to_a
    @left = @todo.length
    @failed = 0
  end

  def nextTuple
    if (n = @todo.shift)
      emit [TEXT[n % 2], n], :id => n
    elsif @left == 0
      @left = -1
      emit [@failed], :stream => "done"
    end
  end

  def ack(_id)
    @left -= 1
  end

  def fail(id)
    @failed += 1
    @todo << id
  end
end

Lines.new.run
